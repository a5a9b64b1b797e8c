module example.com/isolation

go 1.26.0

require github.com/example/operator-testbed v0.0.0

replace github.com/example/operator-testbed => ../..
