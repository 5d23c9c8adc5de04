import beamsWorker from './beams-worker.js' with { type: 'text' };
import preferences from './preferences.js' with { type: 'text' };
import subscriptionChange from './subscription-change.js' with { type: 'text' };

/**
 * The service worker that sites load from this server instead of the Beams web SDK's. `endpoint` is the address of the
 * push listener for browsers, such as `https://push.example.org`. It may come from a request and is not trusted. The text
 * runs as a classic worker script, also by `importScripts` from another origin. It defines one global name:
 * `PusherPushNotifications`.
 */
export function serviceWorkerScript(endpoint: string): string {
  const text = beamsWorker + subscriptionChange + preferences;
  return `((endpoint) => {\n'use strict';\n${text}})(${literal(endpoint)});\n`;
}

/** A JavaScript string literal, safe also within HTML and in old browsers. */
function literal(text: string): string {
  return JSON.stringify(text).replace(
    /[<\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
