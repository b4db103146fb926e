export function DirectoryView() { return null; }
