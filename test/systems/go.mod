module github.com/lethe-iac/lethe/test/systems

go 1.26.8
