import { PushRefusal } from '../../../push/refusal.ts';
import { addressKey } from '../../../runtime/ip-address.ts';
import type { Client } from '../call.ts';
import { SOON_SECONDS } from '../server/check-head.ts';
import type { RequestConnection } from '../server/connection.ts';
import type { RequestHead } from '../server/http/request-head.ts';
import type { AddressTurns, Waiting } from '../server/http/turns.ts';
import { rawResponse } from '../server/refusal-response.ts';
import type { RequestHandler } from '../server/request-handler.ts';
import type { ForwardedRequest } from './forwarded-request.ts';

export interface ForwardedConnectionOptions {
  readonly request: ForwardedRequest;
  readonly turns: AddressTurns;
  readonly begin: (head: RequestHead, connection: RequestConnection) => RequestHandler;
  /** Called once, with the bytes of the answer. */
  readonly answer: (bytes: Uint8Array) => void;
}

/** Serves one request that came to the port of Channels: it is complete, and its connection is not ours. */
export class ForwardedConnection implements RequestConnection, Waiting {
  readonly peer: Client;
  /** Whether the connection closes is for the other loop to say. */
  readonly isClosing = false;
  /** Whether it has its answer. */
  isClosed = false;
  private readonly options: ForwardedConnectionOptions;

  constructor(options: ForwardedConnectionOptions) {
    const { peer } = options.request;
    this.options = options;
    this.peer = { address: peer, addressKey: addressKey(peer) };
  }

  /** Begins when the request has its turn. */
  goOn(): void {
    const { request, turns, begin } = this.options;
    if (!turns.take(this.peer.addressKey, this)) return;
    const { method, target, bytes, body } = request;
    const handler = begin(
      {
        method,
        target,
        headers: new Map(request.headers),
        framing: { bytes },
        // The other loop has checked what a version demands, and answers as that version wants.
        isCurrent: false,
        expectsContinue: false,
        isLast: false,
      },
      this,
    );
    if (body !== undefined) handler.receive(Buffer.from(body));
    handler.complete();
  }

  answer(bytes: Uint8Array): boolean {
    if (!this.isClosed) {
      this.isClosed = true;
      this.options.answer(bytes);
    }
    return true;
  }

  /** Answers that the server is overloaded. The endpoint may finish its work nevertheless, as when a connection breaks. */
  cutOff(): boolean {
    if (this.isClosed) return false;
    const overloaded = new PushRefusal('store', 'Server is overloaded, try again', SOON_SECONDS);
    return this.answer(Buffer.from(rawResponse(overloaded, 'other')));
  }

  destroy(): void {
    this.cutOff();
  }

  continue(): void {
    // The body is here.
  }

  holdBody(): void {
    // The body is here.
  }

  dropInput(): void {
    // Nothing is still to come.
  }

  endAnswer(): void {
    // The other loop ends its answers itself.
  }
}
