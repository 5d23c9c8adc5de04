import { type RawAnswer, RawHttp } from '../../testing/clients/raw-http.ts';

/** One request as a library sends it, byte for byte. */
export interface Transcript {
  readonly method: string;
  readonly target: string;
  readonly bytes: Uint8Array;
}

/** A request from its lines. `Content-Length: *` stands for the length of the body. */
export function transcript(lines: readonly string[], body = ''): Transcript {
  const length = Buffer.byteLength(body);
  const head = lines.map((line) => line.replace(/^(content-length): \*$/i, `$1: ${length}`));
  const [method = '', target = ''] = lines[0]?.split(' ') ?? [];
  return { method, target, bytes: Buffer.from([...head, '', body].join('\r\n')) };
}

/** The same request with another text in its head, such as another id. */
export function withHead({ bytes }: Transcript, from: string, to: string): Transcript {
  const [head = '', body = ''] = Buffer.from(bytes).toString().split('\r\n\r\n');
  return transcript(head.replaceAll(from, to).split('\r\n'), body);
}

/** One connection on which a library sends one request after the other. */
export class TranscriptConnection implements AsyncDisposable {
  private readonly http: RawHttp;

  private constructor(http: RawHttp) {
    this.http = http;
  }

  static async open(server: { readonly pushPort: number }): Promise<TranscriptConnection> {
    return new TranscriptConnection(await RawHttp.open({ port: server.pushPort }));
  }

  async sends({ method, bytes }: Transcript): Promise<RawAnswer> {
    this.http.writes(bytes);
    return await this.http.reads(method);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.http[Symbol.asyncDispose]();
  }
}
