/** An answer of push, taken apart for `Bun.serve`. */
export interface ReadAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Reads the bytes of an answer that this server has written itself. */
export function readAnswer(bytes: Uint8Array): ReadAnswer {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = all.indexOf('\r\n\r\n');
  const [line = '', ...fields] = all.toString('latin1', 0, end).split('\r\n');
  const headers = new Headers();
  for (const field of fields) {
    const colon = field.indexOf(': ');
    headers.append(field.slice(0, colon), field.slice(colon + 2));
  }
  return { status: Number(line.split(' ')[1]), headers, body: all.subarray(end + 4) };
}
