import { ClientRequest } from '../network/client-request.ts';

const LOADING = 3;
const DONE = 4;

/** `XMLHttpRequest`, with what `pusher-js` uses of it. */
export class SimulatedXhr {
  onreadystatechange: (() => void) | null = null;
  onprogress: (() => void) | null = null;
  readyState = 0;
  status = 0;
  responseText = '';
  private method = '';
  private url = '';
  private readonly headers: Record<string, string> = {};
  private request: ClientRequest | undefined;

  open(method: string, url: string): void {
    this.method = method;
    this.url = url;
  }

  setRequestHeader(name: string, value: string): void {
    this.headers[name.toLowerCase()] = value;
  }

  send(body?: string): void {
    const { host, pathname, search } = new URL(this.url);
    const tell = (readyState: number, status: number, text: string) => {
      this.readyState = readyState;
      this.status = status;
      this.responseText = text;
      this.onreadystatechange?.();
    };
    const request = new ClientRequest(
      host,
      {
        method: this.method,
        target: pathname + search,
        headers: this.headers,
        body: body ?? undefined,
      },
      {
        progress: (status, text) => tell(LOADING, status, text),
        ended: (status, text) => {
          tell(DONE, status, text);
          this.ended(pathname, status);
        },
      },
    );
    this.request = request;
    this.requested(request, pathname + search);
  }

  /** A request has begun. */
  protected requested(_request: ClientRequest, _target: string): void {
    // For those who want to know.
  }

  /** A request is over. `status` 0: it got no answer. */
  protected ended(_path: string, _status: number): void {
    // For those who want to know.
  }

  abort(): void {
    this.request?.abort();
  }
}
