# A short-lived token of OpenBao or Vault, and a secret that is read with it.

variable "password_version" {
  description = "Increase it to write the password again."
  type        = number
  default     = 1
}

# The first lease: a token that may read one secret. It is revoked after its last user.
ephemeral "lethe_exec" "token" {
  open        = ["sh", "token.sh"]
  renew       = ["sh", "token.sh"]
  close       = ["sh", "token.sh"]
  renew_after = "5m"
}

# The second lease uses the first one. Secrets are passed in `input`, because all users can see arguments.
ephemeral "lethe_exec" "db" {
  open  = ["sh", "read.sh"]
  input = { token = ephemeral.lethe_exec.token.result.auth.client_token }
}

# A file takes the place of a database user. `content_wo` is write-only.
resource "lethe_secret_file" "db" {
  path               = "db.password"
  content_wo         = ephemeral.lethe_exec.db.result.data.data.password
  content_wo_version = var.password_version
}
