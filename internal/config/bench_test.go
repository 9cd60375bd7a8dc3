package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/syntax"
)

// bulk returns about n bytes of ordinary configuration.
func bulk(n int) []byte {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `resource "aws_instance" "web_%d" {
  count         = var.size_%d
  ami           = data.aws_ami.base.id
  instance_type = "t3.micro"
  subnet_id     = aws_subnet.main[count.index].id
  tags = merge(local.tags, {
    Name = "web-${count.index}-%d"
    Team = "platform"
  })

  root_block_device {
    volume_size = 100 + var.extra
    encrypted   = true
  }

  lifecycle {
    create_before_destroy = true
    ignore_changes        = [ami, tags["Team"]]
  }
}

variable "size_%d" {
  type        = number
  description = "How many there are of number %d."
  default     = 3
}

output "ids_%d" {
  value = aws_instance.web_%d[*].id
}

`, i, i, i, i, i, i, i)
	}
	return []byte(b.String())
}

func bulkJSON(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"resource": {"aws_instance": {`)
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"web_%d": {"count": "${var.size}", "ami": "${data.aws_ami.base.id}", "tags": {"Name": "web-${count.index}-%d", "Team": "platform"}, "root_block_device": [{"volume_size": 100, "encrypted": true}], "lifecycle": {"ignore_changes": ["ami"]}}`+"\n", i, i)
	}
	b.WriteString(`}}}`)
	return []byte(b.String())
}

const tenMB = 10 << 20

func BenchmarkParserAlone(b *testing.B) {
	text := bulk(tenMB)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ds := hclsyntax.ParseConfig(text, "main.tf", hcl.InitialPos); ds.HasErrors() {
			b.Fatal(ds)
		}
	}
}

func benchLoad(b *testing.B, files Memory) {
	n := 0
	for _, text := range files {
		n += len(text)
	}
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		var bag diag.Bag
		if _, ok := Load(".", Options{Files: files}, nil, &bag); !ok {
			b.Fatal(bag.List()[0])
		}
	}
}

func BenchmarkLoadOneFile(b *testing.B) { benchLoad(b, Memory{"main.tf": bulk(tenMB)}) }

func BenchmarkLoadManyFiles(b *testing.B) {
	files := Memory{}
	for i, part := range strings.SplitAfter(string(bulk(tenMB)), "\n\nresource") {
		part = strings.TrimSuffix(part, "resource")
		if i > 0 {
			part = "resource" + part
		}
		name := fmt.Sprintf("%03d.tf", i%100)
		files[name] = append(files[name], part...)
	}
	benchLoad(b, files)
}

func BenchmarkJSONParserAlone(b *testing.B) {
	text := bulkJSON(tenMB)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ds := json.Parse(text, "main.tf.json"); ds.HasErrors() {
			b.Fatal(ds)
		}
	}
}

func BenchmarkLoadJSON(b *testing.B) { benchLoad(b, Memory{"main.tf.json": bulkJSON(tenMB)}) }

func BenchmarkCheck(b *testing.B) {
	text := bulk(tenMB)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, _, p := syntax.Parse(text, "", limits.Limits{}.Filled()); p.Kind != syntax.None {
			b.Fatal(p)
		}
	}
}
