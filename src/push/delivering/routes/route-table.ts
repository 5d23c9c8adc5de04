import { RecentSet } from '../../../runtime/recent.ts';
import type { Recipient } from '../../model/device.ts';
import { IDLE_MS } from '../limits.ts';
import { endpointOrigin } from './endpoint-origin.ts';
import type { AnyGateway } from './prepared-publish.ts';
import { Route, type RouteOptions, type SendLimits, type Slice } from './route.ts';

/** The origin of the route that push services share which may have none of their own, and those beyond `routesMax`. */
const OTHER_SERVICES = 'others';

/** More than there can be routes. */
const PROVEN_MAX = 1_000;

type Opens = Pick<AnyGateway, 'isOpen'>;

export interface RouteTableOptions extends Pick<RouteOptions, 'rate' | 'random' | 'distrust'> {
  readonly routesMax: number;
  /** Whether each push service has a route of its own. Otherwise the only origin is ''. */
  readonly isByService: boolean;
}

/**
 * The routes of a dispatcher, one for each push service. Some push services share a route, where
 * outcomes at one service never block the others.
 */
export class RouteTable {
  readonly all: Route[] = [];
  private readonly options: RouteTableOptions;
  private readonly byOrigin = new Map<string, Route>();
  /** Push services that the operator has not named, and that have accepted something. */
  private readonly proven = new RecentSet<string>(PROVEN_MAX);
  /** The route whose turn is next. */
  private turn = 0;

  constructor(options: RouteTableOptions) {
    this.options = options;
  }

  /** Finds the route to a push service, or adds it. */
  to(origin: string, nowMs: number): Route {
    const known = this.byOrigin.get(origin);
    if (known !== undefined) return known;
    const { routesMax, isByService, ...options } = this.options;
    if (this.all.length >= routesMax && origin !== OTHER_SERVICES) {
      return this.to(OTHER_SERVICES, nowMs);
    }
    const route = new Route({
      ...options,
      origin: isByService ? origin : undefined,
      isShared: origin === OTHER_SERVICES,
      nowMs,
    });
    this.byOrigin.set(origin, route);
    this.all.push(route);
    return route;
  }

  /**
   * The route to the push service of a device. One that the operator has not named has a route of its own only after it has
   * accepted something, because anybody may make up such services.
   */
  toDevice(gateway: Opens, device: Recipient | undefined, nowMs: number): Route {
    const origin = endpointOrigin(device?.token ?? '');
    const isUnproven = gateway.isOpen?.(origin) === true && !this.proven.has(origin);
    return this.to(isUnproven ? OTHER_SERVICES : origin, nowMs);
  }

  /** Remembers that the push service of a device has accepted something. */
  learnAccepted(gateway: Opens, { token }: Recipient): void {
    if (gateway.isOpen === undefined) return;
    const origin = endpointOrigin(token);
    if (gateway.isOpen(origin)) this.proven.add(origin);
  }

  /** A slice with a device that may be sent to now. Routes take turns. */
  next(limits: SendLimits): Slice | undefined {
    for (let tried = this.all.length; tried > 0; tried--) {
      if (this.turn >= this.all.length) this.turn = 0;
      const route = this.all[this.turn];
      this.turn++;
      const slice = route?.next(limits);
      if (slice !== undefined) return slice;
    }
    return undefined;
  }

  /** Forgets routes that were unused for long. */
  forgetIdle(nowMs: number): void {
    for (const [origin, route] of this.byOrigin) {
      if (route.inFlight > 0 || !route.isEmpty || nowMs - route.usedAtMs <= IDLE_MS) continue;
      this.byOrigin.delete(origin);
      this.all.splice(this.all.indexOf(route), 1);
    }
  }

  /** Milliseconds until a waiting device may be sent to; infinite if none waits for a time. */
  waitMs(nowMs: number): number {
    let leastMs = Number.POSITIVE_INFINITY;
    for (const route of this.all) {
      if (route.isEmpty) continue;
      const waitMs = route.waitMs(nowMs);
      // 0: the next finished send, or an extended claim, continues.
      if (waitMs > 0) leastMs = Math.min(leastMs, waitMs);
    }
    return leastMs;
  }
}
