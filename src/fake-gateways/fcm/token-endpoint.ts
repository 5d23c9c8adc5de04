import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { FaultScript } from '../script.ts';
import type { AccessTokenIssuer } from './access-token-issuer.ts';

export const TOKEN_PATH = '/token';
const FORM_BYTES_MAX = 16 * 1024;

/** Where clients of the fake request access tokens, over HTTP/1. */
export class TokenEndpoint {
  /** Is given connections by `emit`, and never listens itself. */
  readonly server: Server;
  /** For requests, whose token is `access-token`. */
  readonly script = new FaultScript();
  private readonly issuer: AccessTokenIssuer;
  private readonly nowMs: () => number;

  constructor(issuer: AccessTokenIssuer, nowMs: () => number) {
    this.issuer = issuer;
    this.nowMs = nowMs;
    this.server = createServer((request, response) => void this.answer(request, response));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await readForm(request);
    this.script.afterLatency(() => {
      const isRight = request.method === 'POST' && request.url === TOKEN_PATH;
      const act = isRight ? this.script.take('access-token') : undefined;
      if (act?.act === 'hang') return;
      if (act !== undefined && act.act !== 'answer') return void request.socket.destroy();
      const { status, body } = isRight
        ? this.issuer.answer(form, this.nowMs())
        : { status: 404, body: { error: 'not_found' } };
      response.writeHead(act?.status ?? status, {
        'content-type': 'application/json',
        ...act?.fields,
      });
      response.end(act === undefined ? JSON.stringify(body) : (act.body ?? ''));
    });
  }
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= FORM_BYTES_MAX) chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}
