/** Whether a channel keeps its latest message for devices that are offline. */
export type ChannelStorage = 'none' | 'latest';

/** What Apple answers about a channel. `why` is its code, or that of the connection. */
export type ChannelAnswer<Value> =
  | { readonly result: 'done'; readonly value: Value }
  | { readonly result: 'refused'; readonly why: string };

/**
 * Creates and deletes broadcast channels at Apple, for the apps of one instance. Both settle within a bounded time, and
 * never reject because of the network.
 */
export interface BroadcastChannels {
  /** Gives the id of the channel. */
  create(bundleId: string, storage: ChannelStorage): Promise<ChannelAnswer<string>>;
  /** Done also if Apple knows no such channel. */
  delete(bundleId: string, channel: string): Promise<ChannelAnswer<undefined>>;
}

/** A broadcast channel as it is stored. */
export interface StoredChannel {
  /** The id of its device. */
  readonly id: string;
  readonly channel: string;
  readonly bundleId: string;
  readonly storage: ChannelStorage;
  /** In the order of their UTF-8 bytes. */
  readonly interests: readonly string[];
}
