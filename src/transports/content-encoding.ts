const COMPRESSIONS: ReadonlySet<string> = new Set([
  'gzip',
  'x-gzip',
  'deflate',
  'compress',
  'x-compress',
  'br',
  'zstd',
]);

/**
 * Returns the compression of a body by its `Content-Encoding`. Other values, such as `utf-8` of backends that confuse
 * encodings and character sets, change no body.
 */
export function compressionIn(contentEncoding: string | null | undefined): string | undefined {
  if (contentEncoding === null || contentEncoding === undefined) return undefined;
  const encodings = contentEncoding.toLowerCase().split(',', 10);
  return encodings.map((one) => one.trim()).find((one) => COMPRESSIONS.has(one));
}

/** Describes why a compressed body is refused. */
export function describeCompressed(compression: string): string {
  return `The body has Content-Encoding: ${compression}, which this server does not decode; send it uncompressed`;
}
