/** Something that can get what is published. */
export interface Subscriber {
  send(frame: string): unknown;
}

/** The topics of a server. */
export class Topics {
  private readonly topics = new Map<string, Set<Subscriber>>();

  count(topic: string): number {
    return this.topics.get(topic)?.size ?? 0;
  }

  /** Sends to all subscribers but one. */
  publish(topic: string, frame: string, except?: Subscriber): number {
    const subscribers = this.topics.get(topic);
    if (subscribers === undefined) return 0;
    for (const subscriber of [...subscribers]) if (subscriber !== except) subscriber.send(frame);
    return frame.length;
  }

  add(topic: string, subscriber: Subscriber): void {
    const subscribers = this.topics.get(topic);
    if (subscribers === undefined) this.topics.set(topic, new Set([subscriber]));
    else subscribers.add(subscriber);
  }

  delete(topic: string, subscriber: Subscriber): void {
    const subscribers = this.topics.get(topic);
    subscribers?.delete(subscriber);
    if (subscribers?.size === 0) this.topics.delete(topic);
  }
}
