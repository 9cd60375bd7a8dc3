package style

import (
	"bytes"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"
)

// bulk is a megabyte of ordinary configuration.
var bulk = bytes.Repeat([]byte(`resource "aws_instance" "web" {
  count         = var.size
  ami           = data.aws_ami.base.id
  subnet_id     = aws_subnet.main[count.index].id
  tags = merge(local.tags, {
    Name = "web-${count.index}"
    Team = "platform"
  })

  root_block_device {
    volume_size = 100 + var.extra
    encrypted   = true
  }
}

variable "size" {
  type        = number
  description = "How many there are."
  default     = 3
}

`), 2000)

func BenchmarkFormatterAlone(b *testing.B) {
	b.SetBytes(int64(len(bulk)))
	for b.Loop() {
		hclwrite.Format(bulk)
	}
}

func BenchmarkFormat(b *testing.B) {
	b.SetBytes(int64(len(bulk)))
	for b.Loop() {
		formatted(bulk)
	}
}
