/** Lets the browser keep a file that the page has made. */
export function download(name: string, file: Blob): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** A name for a file of now: `shop-2026-11-24T021500.ndjson`. */
export function fileName(of: string, type: string): string {
  return `${of}-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.${type}`;
}
