# The three modes of a resource. Nothing to install, no server, no account.

# Looked up, and kept in the state: nothing secret.
data "lethe_null" "settings" {
  inputs = { file = "app.password" }
}

# Only used: made when something wants it, and kept nowhere.
ephemeral "lethe_random" "password" {
  length = 24
}

# Made and kept, but for its write-only argument. Raise the version to write another password.
resource "lethe_secret_file" "password" {
  path               = data.lethe_null.settings.outputs.file
  content_wo         = ephemeral.lethe_random.password.password
  content_wo_version = 1
}

output "file" {
  value = lethe_secret_file.password.path
}
