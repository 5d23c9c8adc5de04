/** The largest head of an answer, those of interim answers included. */
export const HEAD_BYTES_MAX = 16_384;

const HEAD_END = '\r\n\r\n';
const START = 'HTTP/1.';

export type ConnectAnswer =
  | 'incomplete'
  | 'too-large'
  | 'not-http'
  /** `rest` came after the head: with a status of 2xx, from the other end of the tunnel. */
  | { readonly status: number; readonly rest: Buffer };

/**
 * Reads a proxy's answer to `CONNECT` as it comes. Skips interim answers. A length of a body does not count after a
 * status of 2xx. Source: RFC 9110, 9.3.6 and 15.2.
 */
export class ConnectAnswerReader {
  private bytes: Buffer = Buffer.alloc(0);
  private skipped = 0;

  push(chunk: Buffer): ConnectAnswer {
    this.bytes = Buffer.concat([this.bytes, chunk]);
    for (;;) {
      const start = this.bytes.toString('latin1', 0, START.length);
      if (!START.startsWith(start.slice(0, START.length))) return 'not-http';
      const end = this.bytes.indexOf(HEAD_END);
      const headBytes = this.skipped + (end === -1 ? this.bytes.length : end + HEAD_END.length);
      if (headBytes > HEAD_BYTES_MAX) return 'too-large';
      if (end === -1) return 'incomplete';
      const line = this.bytes.toString('latin1', 0, this.bytes.indexOf('\r\n'));
      const status = Number(/^HTTP\/1\.[01] ([1-5]\d\d)(?: |$)/.exec(line)?.[1]);
      if (Number.isNaN(status)) return 'not-http';
      const rest = this.bytes.subarray(end + HEAD_END.length);
      // 101 is final: it would change the protocol.
      if (status >= 200 || status === 101) return { status, rest };
      this.skipped = headBytes;
      this.bytes = rest;
    }
  }
}
