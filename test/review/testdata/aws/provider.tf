terraform {
  required_providers {
    aws = {
      source = "hashicorp/aws"
    }
  }
}

variable "endpoint" {
  type = string
}

provider "aws" {
  region                      = var.region
  access_key                  = "test"
  secret_key                  = "test"
  skip_credentials_validation = true
  skip_requesting_account_id  = true
  skip_metadata_api_check     = true
  skip_region_validation      = true

  endpoints {
    ec2            = var.endpoint
    iam            = var.endpoint
    s3             = var.endpoint
    ssm            = var.endpoint
    rds            = var.endpoint
    sts            = var.endpoint
    cloudwatchlogs = var.endpoint
  }
  s3_use_path_style = true
}
