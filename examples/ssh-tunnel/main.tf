# A service that only an SSH server can reach.

variable "user" {
  type    = string
  default = ""
}

variable "tunnel_port" {
  type    = number
  default = 22
}

variable "host_key" {
  type    = string
  default = null # the keys in ~/.ssh/known_hosts
}

ephemeral "lethe_file" "key" {
  path = "user.key"
}

# The tunnel exists while its users below run. Here the service is the SSH server itself: it also answers on this port.
ephemeral "lethe_ssh_tunnel" "service" {
  tunnel_host = "127.0.0.1"
  tunnel_port = var.tunnel_port
  user        = var.user
  private_key = ephemeral.lethe_file.key.content
  agent       = false
  host_key    = var.host_key
  remote_host = "127.0.0.1"
  remote_port = var.tunnel_port
}

# A provider would use local_address in its `provider` block. This provisioner connects to the service and stores the
# answer in a file.
resource "terraform_data" "visit" {
  provisioner "local-exec" {
    command = "ssh-keyscan -t ed25519 -p $PORT $HOST 2> /dev/null | cut -d ' ' -f 2- > reached.txt"
    environment = {
      HOST = ephemeral.lethe_ssh_tunnel.service.local_host
      PORT = ephemeral.lethe_ssh_tunnel.service.local_port
    }
  }
}
