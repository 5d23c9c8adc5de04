import { type RawAnswer, RawHttp } from '../../testing/clients/raw-http.ts';

/** One request, byte for byte as a library sends it. */
export interface Transcript {
  readonly method: string;
  readonly target: string;
  readonly bytes: Uint8Array;
}

/** Makes a request from its lines. `Content-Length: *` becomes the length of the body. */
export function transcript(lines: readonly string[], body = ''): Transcript {
  const length = Buffer.byteLength(body);
  const head = lines.map((line) => line.replace(/^(content-length): \*$/i, `$1: ${length}`));
  const [method = '', target = ''] = lines[0]?.split(' ') ?? [];
  return { method, target, bytes: Buffer.from([...head, '', body].join('\r\n')) };
}

/** Replaces a text in the head of a request, such as an id. */
export function withHead({ bytes }: Transcript, from: string, to: string): Transcript {
  const [head = '', body = ''] = Buffer.from(bytes).toString().split('\r\n\r\n');
  return transcript(head.replaceAll(from, to).split('\r\n'), body);
}

/** A connection on which a library sends its requests one by one. */
export class TranscriptConnection implements AsyncDisposable {
  private readonly http: RawHttp;

  private constructor(http: RawHttp) {
    this.http = http;
  }

  static async open(server: { readonly pushPort: number }): Promise<TranscriptConnection> {
    return new TranscriptConnection(await RawHttp.open({ port: server.pushPort }));
  }

  async sends({ method, bytes }: Transcript): Promise<RawAnswer> {
    this.http.write(bytes);
    return await this.http.read(method);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.http[Symbol.asyncDispose]();
  }
}
