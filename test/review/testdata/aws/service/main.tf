variable "name" {
  type = string
}

variable "image" {
  type = string
}

variable "size" {
  type    = string
  default = "t3.small"
}

variable "vpc" {
  type = string
}

variable "subnets" {
  type = list(string)
}

resource "aws_security_group" "this" {
  name   = "${var.name}-web"
  vpc_id = var.vpc
}

resource "aws_vpc_security_group_ingress_rule" "https" {
  security_group_id = aws_security_group.this.id
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  cidr_ipv4         = "10.0.0.0/8"
}

resource "aws_iam_role" "this" {
  name = "${var.name}-web"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy" "logs" {
  name = "logs"
  role = aws_iam_role.this.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = "*"
    }]
  })
}

resource "aws_instance" "this" {
  count = length(var.subnets)

  ami                    = var.image
  instance_type          = var.size
  subnet_id              = var.subnets[count.index]
  vpc_security_group_ids = [aws_security_group.this.id]
  user_data              = <<-EOT
    #cloud-config
    hostname: ${var.name}-${count.index}
    packages: [nginx]
  EOT

  tags = {
    Name = "${var.name}-${count.index}"
  }
}

output "servers" {
  value = aws_instance.this[*].id
}
