/** The id of an event in the history of its channel, such as `1042-k3x9q2ab`. */
export type EventId = string;

/** What is used of pusher-js 4.3.1 to 8: an instance of `Pusher`. */
export interface ResumablePusher {
  // biome-ignore lint/suspicious/noExplicitAny: declared so by pusher-js
  send_event(event: string, data: any, channel?: string): boolean;
  unsubscribe(channel: string): void;
  channel(name: string): { emit(event: string): unknown } | undefined;
  readonly connection: {
    readonly state: string;
    readonly socket_id: string;
    readonly connection: object | null;
    // biome-ignore lint/suspicious/noExplicitAny: declared so by pusher-js
    bind(event: string, callback: (...args: any[]) => unknown): unknown;
  };
}

export interface ResumeOptions {
  /** By channel, the id of the last event that the page knows already. */
  readonly after?: Readonly<Record<string, EventId | null | undefined>>;
  /**
   * Called when the server no longer has all that a channel missed. Load the state of the channel anew. The channel itself gets
   * the event `fanfare:gap`.
   */
  readonly onGap?: (channel: string) => void;
}

export interface Resumed {
  /** By channel, the id of the last event that its handlers got. For `after`, on another page. */
  places(): Record<string, EventId>;
}

/**
 * Makes pusher-js resume: after a reconnect, each channel gets the events that it missed, once each and in order. Call it
 * right after `new Pusher(…)`; later it begins with the next connection. Without a history on the server it changes nothing.
 */
export function resume(pusher: ResumablePusher, options?: ResumeOptions): Resumed;
