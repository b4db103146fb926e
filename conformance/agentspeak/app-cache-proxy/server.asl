data(1,one). data(2,two).
