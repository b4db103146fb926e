export function ComposeView() { return null; }
