module example.org/score

go 1.19
