import type { Clock } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import type { WebhookSink } from '../ports.ts';
import type { Usage } from '../usage/usage.ts';
import type { WebhookEvent } from './webhook-event.ts';

export interface WebhookEventsOptions {
  readonly clock: Clock;
  readonly usage: Usage;
  readonly sink: WebhookSink;
}

/** Marks an event that is reported again, by this node or another one, until it is stored or dropped. */
export interface Repeatable {
  /** Equal for every report of this event. */
  readonly id: string;
  /** Called once the event is stored, or was dropped because nobody wants it or a limit was reached. */
  readonly onSettled: () => void;
}

/** Passes an event on to the webhooks of an app, if one of them wants events of that name. */
export class WebhookEvents {
  private readonly options: WebhookEventsOptions;

  constructor(options: WebhookEventsOptions) {
    this.options = options;
  }

  /** Whether a webhook of the app wants events of this name. */
  wants(app: App, name: WebhookEvent['name']): boolean {
    return app.webhooks.some(({ events }) => events.includes(name));
  }

  emit(app: App, event: WebhookEvent, repeatable?: Repeatable): void {
    if (!this.wants(app, event.name)) return repeatable?.onSettled();
    const { clock, usage, sink } = this.options;
    usage.charge(app, 1, 'clients');
    const emitted = { appId: app.id, event, atMs: clock.now() };
    if (repeatable === undefined) sink.emit(emitted);
    else sink.emit({ ...emitted, id: repeatable.id }, repeatable.onSettled);
  }
}
