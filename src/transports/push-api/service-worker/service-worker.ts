import beamsWorker from './beams-worker.js' with { type: 'text' };

/**
 * The service worker that sites load from this server, in the place of the one of the Beams SDK for the web.
 * `endpoint` is the address of the push listener as browsers reach it, such as `https://push.example.org`; it
 * may have been taken from a request and is not trusted. The text runs as a classic worker script, by itself or
 * by `importScripts` from another origin, and leaves one name there: `PusherPushNotifications`.
 */
export function serviceWorkerScript(endpoint: string): string {
  return `((endpoint) => {\n'use strict';\n${beamsWorker}})(${literal(endpoint)});\n`;
}

/** A string as JavaScript writes it, which also ends no line and no HTML element that it is put into. */
function literal(text: string): string {
  return JSON.stringify(text).replace(
    /[<\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
