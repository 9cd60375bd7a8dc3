variable "name" {
  type = string
}

variable "family" {
  type = string
}

variable "password" {
  type      = string
  sensitive = true
}

variable "vpc" {
  type = string
}

resource "aws_security_group" "this" {
  name   = "${var.name}-db"
  vpc_id = var.vpc
}

resource "aws_db_parameter_group" "this" {
  name   = "${var.name}-parameters"
  family = var.family

  parameter {
    name  = "log_connections"
    value = "1"
  }
}

resource "aws_ssm_parameter" "password" {
  name  = "/${var.name}/password"
  type  = "SecureString"
  value = var.password
}

resource "aws_s3_bucket" "backup" {
  bucket = "${var.name}-backup"
}
