import { randomUUID } from 'node:crypto';
import type { Inbox } from '../inbox.ts';
import { type Acknowledgement, AutopushBrowsers } from './autopush-browsers.ts';
import { AutopushPosts, type PushedMessage, type PushFailure } from './autopush-posts.ts';
import { PushSubscriptions } from './push-subscriptions.ts';

/**
 * A push service such as Mozilla runs for Firefox, on 127.0.0.1: browsers connect by WebSocket and get endpoints,
 * and what is posted to an endpoint goes to its browser, or waits for it.
 */
export interface Autopush extends AsyncDisposable {
  /** Where browsers connect: the setting `dom.push.serverURL`. */
  readonly url: string;
  /** The origin of all endpoints. */
  readonly origin: string;
  /** What was posted, in the order in which it was answered. */
  readonly pushed: Inbox<PushedMessage>;
  /** The acknowledgements of browsers. */
  readonly acknowledged: Inbox<Acknowledgement>;
  /** Settles when a browser has said hello, once for each time that it does; returns its id. */
  waitForHello(): Promise<string>;
  /** Ends the connections of all browsers, which come back by themselves; what is pushed meanwhile waits. */
  disconnect(): void;
  /** Makes an endpoint that no browser listens to. `key`: what it is subscribed with, URL-safe base64. */
  newEndpoint(key: string): string;
  /** Makes an endpoint answer 410 from now on, as after the browser has unsubscribed. */
  remove(endpoint: string): void;
  /** What happens to the next posts, one each, instead of an answer. */
  failNext(...failures: readonly PushFailure[]): void;
  /** The statuses with which the next registrations are refused. */
  refuseNextRegistrations(...statuses: readonly number[]): void;
}

export async function startAutopush(): Promise<Autopush> {
  const subscriptions = new PushSubscriptions();
  const posts = await AutopushPosts.start(subscriptions);
  const browsers = new AutopushBrowsers(subscriptions, posts.endpointOf);
  return {
    url: browsers.url,
    origin: posts.origin,
    pushed: posts.pushed,
    acknowledged: browsers.acknowledged,
    waitForHello: () => browsers.hellos.next(),
    disconnect: () => browsers.disconnect(),
    newEndpoint: (key) => posts.endpointOf(subscriptions.subscribe(key, randomUUID()).token),
    remove(endpoint) {
      const channel = posts.channelOf(endpoint);
      if (channel === undefined) throw new Error(`There is no endpoint ${endpoint}`);
      channel.gone = true;
    },
    failNext: (...more) => void posts.failures.push(...more),
    refuseNextRegistrations: (...statuses) => void browsers.refusals.push(...statuses),
    async [Symbol.asyncDispose]() {
      await browsers.stop();
      await posts.stop();
    },
  };
}
