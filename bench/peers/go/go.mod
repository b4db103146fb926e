module whimbrel-peer

go 1.22
