import { randomBytes } from 'node:crypto';
import type { AuthorizationEndpoint } from './checks/authorization-checks.ts';
import type { ApiClient, Called } from './client/api-client.ts';
import type { ClientSession } from './client/client-session.ts';
import type { Conversation } from './client/conversation.ts';
import type { FallbackSession } from './client/fallback-session.ts';
import type { HttpAnswer } from './client/http-exchange.ts';
import type { Destination, Link } from './client/link.ts';
import type { Manner } from './client/reach.ts';
import type { DoctorReport } from './report.ts';
import type { Target } from './target.ts';

/** What to examine, and with what. */
export interface ExaminedServer {
  readonly url: string;
  readonly apiUrl: string | undefined;
  readonly key: string;
  readonly secret: string | undefined;
  readonly appId: string | undefined;
  /** Where the app says who may enter private channels, if that is to be checked. */
  readonly authorization: AuthorizationEndpoint | undefined;
  /** How long to stay silent; 0 skips that check. */
  readonly idleMs: number;
  readonly manner: Manner;
}

/** How far the doctor got towards one endpoint. */
export interface NetworkRoute {
  addresses: readonly string[];
  /** An address that accepts TCP connections. */
  open?: Destination;
  /** An address that accepts TCP connections, once TLS is trusted or does not matter. */
  destination?: Destination;
}

/** What earlier checks found, for later ones. */
export class Examination implements Disposable {
  readonly subject: ExaminedServer;
  readonly report: DoctorReport;
  /** A name that no other client uses. */
  readonly channel = `fanfare-doctor-${randomBytes(8).toString('hex')}`;
  target: Target | undefined;
  readonly clientRoute: NetworkRoute = { addresses: [] };
  /** Unused if the HTTP API has the same address as the WebSocket. */
  readonly apiRoute: NetworkRoute = { addresses: [] };
  isOneEndpoint = false;
  /** The first answer of the HTTP API, and the connection on which it came. */
  answer: HttpAnswer | undefined;
  link: Link | undefined;
  conversation: Conversation | undefined;
  first: ClientSession | undefined;
  second: ClientSession | undefined;
  /** Sessions over HTTP requests, of the transports that work. */
  readonly fallbacks: FallbackSession[] = [];
  api: ApiClient | undefined;
  triggered: Called | undefined;
  private readonly resources = new DisposableStack();

  constructor(subject: ExaminedServer, report: DoctorReport) {
    this.subject = subject;
    this.report = report;
  }

  get timeoutMs(): number {
    return this.subject.manner.timeoutMs;
  }

  /** Closes a connection at the end of the examination. */
  closesAtEnd(resource: Disposable): void {
    this.resources.use(resource);
  }

  [Symbol.dispose](): void {
    this.resources.dispose();
  }
}
