import type { App } from '../../channels/app.ts';
import type { Hub } from '../../channels/hub.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { unsigned } from '../../channels/signatures/unsigned.ts';
import { BodyRefusal } from '../body-intake.ts';
import { lastAnswer } from '../refused-body.ts';
import { decodeLeniently } from '../request-target.ts';
import { type ApiRefusal, type ApiStatus, refuseRequest, statuses } from './problems.ts';
import { authMistakes, type MistakeRow, Unauthenticated } from './unauthenticated.ts';

/** Returns the address of a client; only called if a line of the log needs it. */
export type ApiSender = () => string;

/** Counts requests by the status of their answers. */
export interface ApiMeter {
  readonly count: (counter: 'requests', by: number, status: ApiStatus) => void;
}

/** One request on its way through this API. */
export interface ApiExchange {
  readonly request: Request;
  /** Without the prefix. */
  readonly path: string;
  readonly sender: ApiSender;
}

export interface ApiRefusalsOptions {
  readonly hub: Pick<Hub, 'problems' | 'rateLimitedLog'>;
  readonly apps: AppDirectory;
  readonly meter: ApiMeter;
}

/** Answers requests that are refused: counts and logs each, and notes it among the problems of its app. */
export class ApiRefusals {
  private readonly options: ApiRefusalsOptions;

  constructor(options: ApiRefusalsOptions) {
    this.options = options;
  }

  /**
   * Counts a wrong signature for the app of the path, and a wrong path for the app of the key, from any sender. `appId`: as in the
   * path, still encoded.
   */
  refuseUnsigned(exchange: ApiExchange, refusal: ApiRefusal, appId: string | undefined): Response {
    const app = appId === undefined ? undefined : this.options.apps.byId(decodeLeniently(appId));
    if (app !== undefined) this.note(app, exchange, refusal);
    const { keyOwner } = refusal instanceof Unauthenticated ? refusal : {};
    if (keyOwner === undefined) return this.refuse(exchange, refusal);
    const wrongId = new Unauthenticated('wrong-app-id', refusal.text);
    this.note(keyOwner, exchange, wrongId);
    return this.refuse(exchange, app === undefined ? wrongId : refusal);
  }

  refuse(
    exchange: ApiExchange,
    refusal: ApiRefusal | BodyRefusal,
    { app, closes = false }: { readonly app?: App; readonly closes?: boolean } = {},
  ): Response {
    const { hub, meter } = this.options;
    const { request, path, sender } = exchange;
    const { problem, text, headers } = refusal;
    if (app !== undefined) this.note(app, exchange, refusal);
    const response = refuseRequest(problem, text, {
      ...headers,
      ...(closes ? { connection: 'close' } : {}),
    });
    meter.count('requests', 1, `${statuses[problem].status}`);
    hub.rateLimitedLog.info(
      'Request refused',
      { app: app?.id, address: sender() },
      {
        method: request.method,
        path,
        status: response.status,
        why: unsigned(text),
        // What the text does not tell.
        mistake: mistakeOf(refusal)?.title,
      },
    );
    if (refusal instanceof BodyRefusal && refusal.rest !== undefined) {
      return lastAnswer(response, refusal.rest);
    }
    return response;
  }

  private note(app: App, { path, sender }: ApiExchange, refusal: ApiRefusal | BodyRefusal): void {
    const { problem: kind, text } = refusal;
    const { advice, title } = mistakeOf(refusal) ?? { ...statuses[kind], title: undefined };
    const address = sender();
    this.options.hub.problems.note(app, {
      source: 'backend',
      kind,
      text,
      title,
      advice,
      path,
      address,
    });
  }
}

function mistakeOf(refusal: ApiRefusal | BodyRefusal): MistakeRow | undefined {
  return refusal instanceof Unauthenticated ? authMistakes[refusal.mistake] : undefined;
}
