+go <- .df_register("vend"); .df_register("other"); .df_deregister("other").
