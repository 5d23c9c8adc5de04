import type { AppWebhookEvent } from '../../../src/channels/lifecycle/webhook-event.ts';
import type { FromBackground, ToBackground } from '../../../src/node/link/messages.ts';
import type { Context } from '../kernel/context.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { ModelledPort } from '../network/message-ports.ts';

/** How often webhook events are committed. What was not is lost with the process. Milliseconds. */
const COMMIT_MS = 100;
/** How long a webhook may be on its way. Milliseconds. */
const SENT_MS = 500;

/** A request with webhook events, as the endpoint of the app gets it. */
export type WebhookSink = (events: readonly AppWebhookEvent[]) => void;

/** Stores webhook events. Returns those that were not stored before, which are sent. */
export type WebhookStore = (events: readonly AppWebhookEvent[]) => readonly AppWebhookEvent[];

/** The background loop of a server, as far as its realtime loops know it. */
export class ModelledBackground {
  /** What the loops have saved at a stop. */
  readonly histories: Uint8Array[] = [];
  private readonly kernel: Kernel;
  private readonly webhooks: WebhookSink;
  private readonly store: WebhookStore;
  private waiting: { readonly events: readonly AppWebhookEvent[]; readonly port: ModelledPort }[] =
    [];

  constructor(kernel: Kernel, webhooks: WebhookSink, store: WebhookStore = (events) => events) {
    this.kernel = kernel;
    this.webhooks = webhooks;
    this.store = store;
  }

  /** Listens to a loop. */
  serve(port: ModelledPort, own: Context): void {
    const { kernel } = this;
    const listen = () => {
      port.onmessage = ({ data }) => this.receive(port, data as ToBackground);
    };
    kernel.after(0, listen, own);
  }

  private receive(port: ModelledPort, message: ToBackground): void {
    const post = (answer: FromBackground) => port.postMessage(answer);
    switch (message.type) {
      case 'webhook-events':
        post({ type: 'webhook-events-taken', events: message.events.length });
        if (this.waiting.length === 0) this.kernel.after(COMMIT_MS, () => this.commit());
        this.waiting.push({ events: message.events, port });
        return;
      case 'rule-event':
        post({
          type: 'rule-event-done',
          appId: message.event.appId,
          dataLength: message.event.data.length,
        });
        return;
      case 'histories':
        this.histories.push(message.saved);
        return;
      case 'goodbye':
        post({ type: 'goodbye' });
        return;
      case 'stop':
        this.commit();
        post({ type: 'stopped' });
        return;
      default:
        // What only operators see.
        return;
    }
  }

  /** What is committed is sent, whatever becomes of the process. */
  private commit(): void {
    const { kernel } = this;
    const taken = this.waiting.splice(0);
    for (const { events, port } of taken) {
      const ids = events.flatMap(({ id }) => id ?? []);
      if (ids.length > 0) port.postMessage({ type: 'webhook-events-over', ids });
    }
    const all = this.store(taken.flatMap(({ events }) => events));
    kernel.after(kernel.random.next() * SENT_MS, () => this.webhooks(all), kernel.world);
  }
}
