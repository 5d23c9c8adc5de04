import { PushRefusal } from '../../../push/refusal.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { HEALTH_HEADERS, HEALTH_METHODS, type ListenerHealth } from '../../health.ts';
import { Lingering } from '../../refused-body.ts';
import type { PushBounds } from '../bounds.ts';
import {
  costOf,
  type Endpoints,
  type PushAnswer,
  type PushEndpoint,
  type PushHead,
} from '../call.ts';
import { corsOf, preflightOf } from '../cors.ts';
import { type PushStatus, statuses } from '../problems.ts';
import { findRoute, type PushFamily } from '../routes.ts';
import { checkHead, type HeadAnswer, SOON_SECONDS } from './check-head.ts';
import type { AnswerEnd, RequestConnection, RequestOfConnection } from './connection.ts';
import { answerBytes } from './http/answer-bytes.ts';
import type { HttpFault, RequestHead } from './http/request-head.ts';
import { bodyOf, headersOf, JSON_TYPE, refusalOfFault } from './refusal-response.ts';
import { RequestBody } from './request-body.ts';
import { RequestCall, type RequestCallOptions } from './request-call.ts';
import type { RequestLog } from './request-log.ts';
import type { PooledRequest, PoolPlace, RequestPool } from './request-pool.ts';
import type { RequestScheduler, ScheduledRequest } from './request-scheduler.ts';

/** Counts answers. */
export interface PushMeter {
  readonly count: (counter: 'pushRequests', by: number, status: `${PushStatus}`) => void;
}

/** What all requests of a listener share. */
export interface RequestContext extends RequestCallOptions {
  readonly bounds: PushBounds;
  /** Requests with a secret key, by the number of the instance. */
  readonly backends: RequestPool<number>;
  readonly backendScheduler: RequestScheduler<number>;
  /** All other requests, by the address of the client. */
  readonly anonymous: RequestPool<string>;
  readonly anonymousScheduler: RequestScheduler<string>;
  /** Requests whose bodies are arriving. */
  readonly receiving: Set<RequestHandler>;
  readonly log: RequestLog;
  readonly meter: PushMeter;
  /** `undefined`: health checks are answered on the admin listener only. */
  readonly health: ListenerHealth | undefined;
  /** `undefined` while the server starts. */
  readonly endpoints: Endpoints | undefined;
  /** Must be called for each request with a secret key: it delays the other requests for a moment. */
  backendAsked(): void;
  /** Refuses a client without a secret key that sends too many requests. */
  limitRate(head: PushHead): PushRefusal | undefined;
}

/** Most requests have no larger body and arrive in one packet. */
const SMALL_BODY_BYTES = 1024;

const UNREAD_ANSWERS = 'unread answers fill the memory reserved for them';

/**
 * Handles one request, from its head to its answer. A request ends in one of these ways, and then `finish` gives back
 * what it holds:
 *
 * | end | cause | answer | connection |
 * |---|---|---|---|
 * | `respond` | the endpoint has answered | that answer | stays open |
 * | `refuse` | the request breaks a rule | the refusal | stays open, unless much of the body is to come |
 * | `stopReceiving`, `checkSpeed` | the body is malformed, late or slow | a refusal, if there was no answer yet | closes |
 * | `evict` | another sender needs the place | 503, unless the endpoint runs or has answered | closes |
 * | `fail` | an error of the server | 500, if nothing was sent yet | stays open; closes if something was sent |
 * | `cutOff` | answers are not read, or an eviction | none, or the one on its way is cut | closes at once |
 * | `connectionClosed` | the client has left | none | is closed |
 */
export class RequestHandler implements RequestOfConnection, PooledRequest {
  private readonly context: RequestContext;
  private readonly connection: RequestConnection;
  private readonly head: RequestHead;
  private readonly call: RequestCall;
  private readonly body: RequestBody;
  private family: PushFamily = 'other';
  private allow: string | undefined;
  private endpoint: PushEndpoint | undefined;
  private bodyBytesMax = 0;
  /** The number of the instance whose secret key the request has. */
  private backend: number | undefined;
  private place: PoolPlace<number> | PoolPlace<string> | undefined;
  /** Set while the request waits for the scheduler. */
  private cancelStart: (() => void) | undefined;
  /** Whether the body of the request is wanted. */
  private isAdmitted = false;
  /** The endpoint has started: its work cannot be undone. */
  private isRunning = false;
  /** Refused because its sender asks too much: it skips the scheduler, and its connection closes. */
  private isShed = false;
  /** The head has decided the answer. */
  private isDecided = false;
  private isAnswered = false;
  private hasResponded = false;
  private isFinished = false;
  private lingering: Lingering | undefined;

  constructor(context: RequestContext, head: RequestHead, connection: RequestConnection) {
    this.context = context;
    this.connection = connection;
    this.head = head;
    this.call = new RequestCall(head, connection.peer, context);
    this.body = new RequestBody(head.framing);
  }

  begin(): void {
    try {
      if (this.answerHealth()) return;
      const answer = this.answerToHead();
      if (answer !== undefined) this.answerWithoutBody(answer);
      else if (!this.body.isComplete) this.admitBody();
      else this.schedule(1, () => this.run());
    } catch (error) {
      this.fail(error);
    }
  }

  stopReceiving(why: HttpFault | 'timeout'): void {
    this.stopBody(refusalOfFault(why));
  }

  private stopBody(refusal: PushRefusal): void {
    this.body.isComplete = true;
    if (!this.isAnswered) this.refuse(refusal, { connection: 'close' });
    else if (this.lingering !== undefined) this.lingering.end();
    else this.connection.destroy();
  }

  connectionClosed(): void {
    this.body.isComplete = true;
    this.isAnswered = true;
    this.lingering?.stop();
    this.finish();
  }

  /** Refuses the request if its body has arrived too slowly so far. */
  checkSpeed(nowMs: number): void {
    const { bounds } = this.context;
    if (!this.body.isTooSlow(nowMs, bounds)) return;
    const least = `${bounds.bodyBytesPerSecond} bytes per second`;
    this.connection.dropInput();
    this.stopBody(
      new PushRefusal('timeout', `The body arrives too slowly: it must have at least ${least}`),
    );
  }

  evict(): void {
    this.leavePool();
    // A running endpoint can neither be undone nor reported as failed.
    if (this.isAnswered) this.cutOff(UNREAD_ANSWERS);
    else if (this.isRunning) this.cutOff('over its fair share');
    else this.refuse(this.overloaded(), { connection: 'close' });
  }

  /**
   * Answers a health check. It has no rate and no place in a pool: clients behind the address of a load balancer must not make
   * their server look unhealthy, and it costs no more than a refusal. Returns `false` if this is something else.
   */
  private answerHealth(): boolean {
    const { method, path, lacksHost } = this.call;
    const health = method === 'OPTIONS' ? undefined : this.context.health?.answer(method, path);
    if (health === undefined || lacksHost) return false;
    this.isDecided = true;
    if (health.status === 405) {
      this.allow = HEALTH_METHODS;
      this.refuse(new PushRefusal('wrong-method', `This path takes ${HEALTH_METHODS}`));
    } else {
      this.respond(health.status, { ...HEALTH_HEADERS }, health.text);
    }
    return true;
  }

  /** The answer that the head alone decides; `undefined`: it depends on the body. */
  private answerToHead(): HeadAnswer | undefined {
    const { method, path } = this.call;
    const found = findRoute(method, path);
    this.family = found.family;
    const head = checkHead(this.call, found, this.context.endpoints);
    if (head.answer === undefined) {
      ({ endpoint: this.endpoint, bodyBytesMax: this.bodyBytesMax, backend: this.backend } = head);
    } else {
      this.allow = head.allow;
      this.isShed = head.answer !== 'preflight' && head.answer.problem === 'rate-limited';
    }
    if (this.backend === undefined) {
      // Counted even if it is refused anyway: that costs time as well.
      const refusal = this.context.limitRate(this.call);
      if (refusal !== undefined) {
        this.isShed = true;
        return refusal;
      }
    }
    if (!this.enterPool()) return this.overloaded();
    if (head.answer !== undefined) return head.answer;
    return this.body.announcedBytes > this.bodyBytesMax ? this.tooLarge() : undefined;
  }

  /** Returns `false` if the pool is full and no other sender has more requests in it. */
  private enterPool(): boolean {
    const { backends, anonymous } = this.context;
    if (this.backend === undefined) {
      this.place = anonymous.enter(this.call.addressKey, this);
    } else {
      this.context.backendAsked();
      this.place = backends.enter(this.backend, this);
    }
    return this.place !== undefined;
  }

  /** Reads the body after the checks that come before it. Until then, only what came with the head is in memory. */
  private admitBody(): void {
    const checked = this.endpoint?.checkBeforeBody?.(this.call);
    if (checked === undefined) {
      this.acceptBody();
      return;
    }
    this.connection.holdBody(true);
    checked.then(
      (refusal) => {
        if (!this.isAnswered && refusal === undefined) this.acceptBody();
        else if (refusal !== undefined) this.refuse(refusal);
        this.connection.holdBody(false);
      },
      (error) => {
        this.fail(error);
        this.connection.holdBody(false);
      },
    );
  }

  private acceptBody(): void {
    this.isAdmitted = true;
    if (this.body.isComplete) {
      this.runLater();
      return;
    }
    if (this.head.expectsContinue) this.connection.continue();
    this.body.start(performance.now());
    this.context.receiving.add(this);
  }

  receive(part: Buffer): void {
    const { body } = this;
    body.receivedBytes += part.length;
    if (this.lingering !== undefined) {
      this.lingering.received(part.length);
    } else if (!this.isAnswered && !this.isDecided) {
      body.keep(part);
      const hasMemory = this.reserve(part.length);
      if (body.receivedBytes > this.bodyBytesMax) this.refuse(this.tooLarge());
      else if (!hasMemory) this.refuse(this.overloaded(), { connection: 'close' });
    }
  }

  complete(): void {
    this.body.isComplete = true;
    this.context.receiving.delete(this);
    if (this.lingering !== undefined) this.lingering.end();
    else if (!this.isAnswered && this.isAdmitted) this.runLater();
  }

  private runLater(): void {
    this.schedule(costOf(this.body.receivedBytes), () => this.run());
  }

  /** Continues when the scheduler allows it, usually at once. A shed request always continues at once. */
  private schedule(cost: number, goOn: () => Promise<void> | undefined): void {
    const { backendScheduler, anonymousScheduler } = this.context;
    if (this.isShed) {
      void goOn();
      return;
    }
    const start = () => {
      this.cancelStart = undefined;
      try {
        if (!this.connection.isClosed) return goOn();
        this.finish();
      } catch (error) {
        this.fail(error);
      }
      return undefined;
    };
    if (this.backend === undefined) {
      this.scheduleIn(anonymousScheduler, { owner: this.call.addressKey, cost, start });
    } else {
      this.scheduleIn(backendScheduler, { owner: this.backend, cost, start });
    }
  }

  private scheduleIn<Owner extends string | number>(
    scheduler: RequestScheduler<Owner>,
    request: ScheduledRequest<Owner>,
  ): void {
    this.cancelStart = () => scheduler.remove(request);
    scheduler.add(request);
  }

  /** Answers without the body, which is read and dropped. */
  private answerWithoutBody(answer: HeadAnswer): void {
    this.isDecided = true;
    this.schedule(1, () => {
      if (answer === 'preflight') this.respond(204, { ...preflightOf(this.family) }, '');
      else this.refuse(answer);
      return undefined;
    });
  }

  private run(): Promise<void> | undefined {
    this.call.body = this.body.whole() ?? this.call.body;
    this.isRunning = true;
    try {
      const answer = this.endpoint?.answer(this.call);
      if (answer instanceof Promise) {
        return answer.then(
          (given) => this.answer(given),
          (error) => this.fail(error),
        );
      }
      if (answer !== undefined) this.answer(answer);
    } catch (error) {
      this.fail(error);
    }
    return undefined;
  }

  private answer(answer: PushAnswer): void {
    try {
      if (answer instanceof PushRefusal) {
        this.refuse(answer);
      } else if ('json' in answer) {
        const headers = { 'content-type': JSON_TYPE, ...corsOf(this.family) };
        this.respond(200, headers, `${answer.json}\n`);
      } else if ('text' in answer) {
        const { text, contentType } = answer;
        const headers = { ...answer.headers, 'content-type': contentType, ...corsOf(this.family) };
        this.respond(200, headers, text);
      } else {
        this.respond(200, { ...corsOf(this.family) }, '');
      }
    } catch (error) {
      this.fail(error);
    }
  }

  private fail(error: unknown): void {
    this.context.log.failed(this.call, error);
    if (this.hasResponded) {
      // Half an answer cannot be taken back.
      this.connection.destroy();
      this.finish();
      return;
    }
    this.isAnswered = false;
    this.refuse(new PushRefusal('internal', 'Internal server error'));
  }

  private refuse(refusal: PushRefusal, more?: Readonly<Record<string, string>>): void {
    this.context.log.refused(refusal, this.call, this.call);
    const headers = { ...headersOf(refusal, this.family), ...more };
    if (this.isShed) headers['connection'] = 'close';
    if (this.allow !== undefined) headers['allow'] = this.allow;
    this.respond(statuses[refusal.problem].status, headers, bodyOf(refusal));
  }

  private respond(
    status: PushStatus,
    headers: Record<string, string | number>,
    text: string,
  ): void {
    const { connection } = this;
    if (this.isAnswered) return;
    this.isAnswered = true;
    this.context.receiving.delete(this);
    this.cancelScheduled();
    this.body.drop();
    this.place?.release();
    if (connection.isClosed) {
      this.finish();
      return;
    }
    const lingers = !this.body.isComplete && this.mustLinger(headers['connection'] === 'close');
    if (lingers || connection.isClosing || this.head.isLast) headers['connection'] = 'close';
    if (status !== 204) headers['content-length'] = Buffer.byteLength(text);
    const bytes = answerBytes(status, headers, this.call.method === 'HEAD' ? undefined : text);
    this.hasResponded = true;
    this.context.meter.count('pushRequests', 1, `${status}`);
    this.send(bytes, { isLast: headers['connection'] === 'close', lingers });
  }

  /** Whether the connection must stay open for a while after its last answer, because much of the body is to come. */
  private mustLinger(isLastAnswer: boolean): boolean {
    // The rest of a small request has arrived already; otherwise its sender tries again without the answer.
    if (this.isShed && this.body.announcedBytes <= SMALL_BODY_BYTES) return false;
    return isLastAnswer || this.head.isLast || !this.canSkipRest();
  }

  /** Whether the rest of a refused request is so short that the connection can stay open. */
  private canSkipRest(): boolean {
    // After `Expect`, the client may or may not send the body: we cannot know where its next request begins.
    return !this.head.expectsContinue && this.body.announcedBytes <= this.context.bounds.restBytes;
  }

  private send(bytes: Buffer, end: AnswerEnd): void {
    const { lingers } = end;
    const { promise: sent, resolve } = Promise.withResolvers<void>();
    if (this.connection.answer(bytes, end, resolve)) {
      if (lingers) this.linger();
      else this.finish();
      return;
    }
    // Rarely reached. A timer for each connection would cost too much.
    const { unreadAnswerMs } = this.context.bounds;
    const cancel = monotonicTimers.after(unreadAnswerMs, () =>
      this.cutOff('the client does not read its answers'),
    );
    void sent.then(() => {
      cancel();
      if (!lingers) this.finish();
    });
    if (lingers) this.linger();
    if (!this.reserve(bytes.length)) this.cutOff(UNREAD_ANSWERS);
  }

  /** Ends the connection at once. Logs only the first reason, if several of its requests end it. */
  private cutOff(why: string): void {
    if (this.connection.cutOff()) this.context.log.connectionClosed(why, this.call);
  }

  /**
   * Keeps the connection open after the answer: if it closed while the client is sending, the system would discard the answer.
   */
  private linger(): void {
    this.lingering = new Lingering(this.context.bounds, () => this.lingered());
  }

  private lingered(): void {
    this.lingering = undefined;
    this.connection.endAnswer();
    this.finish();
  }

  private overloaded(): PushRefusal {
    this.isShed = this.backend === undefined;
    this.context.log.overloaded(this.call, this.backend);
    return new PushRefusal('store', 'Server is overloaded, try again', SOON_SECONDS);
  }

  private tooLarge(): PushRefusal {
    return new PushRefusal(
      this.family === 'device' ? 'bad-device-request' : 'bad-request',
      `The body is larger than ${this.bodyBytesMax / 1024} KiB`,
    );
  }

  /** Reserves memory. Returns `false` if there is not enough. */
  private reserve(bytes: number): boolean {
    return this.place?.reserve(bytes) ?? true;
  }

  private cancelScheduled(): void {
    this.cancelStart?.();
    this.cancelStart = undefined;
  }

  private leavePool(): void {
    this.place?.leave();
    this.place = undefined;
  }

  private finish(): void {
    if (this.isFinished) return;
    this.isFinished = true;
    this.body.drop();
    this.context.receiving.delete(this);
    this.cancelScheduled();
    this.leavePool();
  }
}
