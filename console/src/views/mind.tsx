export function MindView() { return null; }
