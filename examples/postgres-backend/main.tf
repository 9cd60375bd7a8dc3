# The state is in PostgreSQL, and encrypted: the administrator of the database cannot read it.

variable "passphrase" {
  type      = string
  ephemeral = true
}

variable "token" {
  type      = string
  sensitive = true
}

terraform {
  backend "pg" {
    schema_name = "lethe_example" # the connection is in PG_CONN_STR
  }

  encryption {
    key_provider "pbkdf2" "main" {
      passphrase = var.passphrase
    }
    method "aes_gcm" "main" {
      keys = key_provider.pbkdf2.main
    }
    state {
      method   = method.aes_gcm.main
      enforced = true # refuses a state that is not encrypted
    }
  }
}

# The state has to contain this secret. If a provider offers a write-only argument, use that instead.
resource "terraform_data" "login" {
  input            = "app"
  triggers_replace = var.token
}
