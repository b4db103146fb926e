(project
  name: (word) @name) @definition.module

(agent
  name: (word) @name) @definition.class

(agent
  source: (file) @name) @reference.class

(class
  name: (class_name) @name) @reference.class
