# The mock returns these values. Other values that a provider decides are invented.
mock_provider "lethe" {
  mock_ephemeral "lethe_random" {
    defaults = { password = "canary-mocked-password" }
  }
  mock_resource "lethe_secret_file" {
    defaults = { mode = "0600" }
  }
}

variables {
  name = "shop"
}

run "writes_the_password" {
  assert {
    condition     = output.password_file == "shop.password" && terraform_data.app.output.mode == "0600"
    error_message = "The application does not get the file."
  }
  # Assertions may use ephemeral values. Lethe neither prints nor stores them.
  assert {
    condition     = ephemeral.lethe_random.password.password == "canary-mocked-password"
    error_message = "The mock is not in use."
  }
  assert {
    condition     = lease.ephemeral.lethe_random.password.opened == lease.ephemeral.lethe_random.password.closed
    error_message = "A lease is still open."
  }
  # Searches the state, the plan, the output and the log of this run.
  expect_no_leak = [ephemeral.lethe_random.password.password]
}

# An override replaces the values of one object in one run.
run "passes_the_mode_on" {
  command   = plan
  state_key = "empty" # otherwise this run uses the state of the run above
  override_resource {
    target          = lethe_secret_file.password
    override_during = plan
    values          = { mode = "0400" }
  }
  assert {
    condition     = terraform_data.app.input.mode == "0400"
    error_message = "The mode is not passed on."
  }
}

run "refuses_digits" {
  command = plan
  variables {
    name = "shop2"
  }
  expect_failures = [var.name]
}
