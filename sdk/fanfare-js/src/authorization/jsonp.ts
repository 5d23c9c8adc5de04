import { requestFailed } from './ajax.ts';
import type { Authorizer } from './authorizer.ts';

let requests = 0;

interface Script {
  src: string;
  onerror: () => void;
  remove(): void;
}

declare const document: {
  createElement(name: 'script'): Script;
  readonly head: { append(script: Script): void };
};

/** Where answers look for their function: backends are asked for a call of `Pusher.auth_callbacks['1']`. */
interface Answered {
  Pusher?: { auth_callbacks?: Record<string, (data: never) => void> };
}

/** Asks by a script, as old backends of other origins need it. Only applications that choose it run what they answer. */
export const jsonp: Authorizer = (_runtime, { query, options, type }, callback) => {
  const { endpoint } = options;
  const name = String(++requests);
  const page = globalThis as Answered;
  page.Pusher ??= {};
  page.Pusher.auth_callbacks ??= {};
  const callbacks = page.Pusher.auth_callbacks;
  const script = document.createElement('script');
  const done = (error: Error | null, data?: unknown) => {
    delete callbacks[name];
    script.remove();
    callback(error, data as never);
  };
  callbacks[name] = (data) => done(null, data);
  script.onerror = () => done(requestFailed(type, endpoint, 0), null);
  const call = encodeURIComponent(`Pusher.auth_callbacks['${name}']`);
  script.src = `${endpoint}?callback=${call}&${query}`;
  document.head.append(script);
};
