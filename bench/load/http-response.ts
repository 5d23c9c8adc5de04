/** One HTTP response in the bytes of a keep-alive connection. */
export interface HttpResponse {
  readonly status: number;
  /** Where the next response starts. */
  readonly end: number;
}

/** Reads the response at the start of these bytes, or nothing while it is still on its way. */
export function readHttpResponse(bytes: Buffer): HttpResponse | undefined {
  const headerEnd = bytes.indexOf('\r\n\r\n');
  if (headerEnd < 0) return undefined;
  const header = bytes.toString('latin1', 0, headerEnd);
  const status = Number(header.slice(9, 12));
  const bodyStart = headerEnd + 4;

  if (/^transfer-encoding: *chunked/im.test(header)) {
    const last = bytes.indexOf('0\r\n\r\n', bodyStart);
    return last < 0 ? undefined : { status, end: last + 5 };
  }
  const length = Number(/^content-length: *(\d+)/im.exec(header)?.[1] ?? 0);
  return bytes.length < bodyStart + length ? undefined : { status, end: bodyStart + length };
}
