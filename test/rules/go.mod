module github.com/lethe-iac/lethe/test/rules

go 1.26.8
