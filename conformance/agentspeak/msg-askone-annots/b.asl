fact(1)[conf(0.5)]. told(2)[source(zed)].
