// Facts about this node.

postcard(Text) :- .node(Here) & .all_names(Names) & .length(Names, N) & .concat("node ", Here, ", ", N, " agents on the platform", Text).
