import { LoopLinks, type LoopLinksOptions } from '../../src/node/link/loop-links.ts';

/** A loop that sends every message back. */

declare const self: Worker;

self.addEventListener('message', ({ data }: MessageEvent<LoopLinksOptions>) => {
  const links = new LoopLinks(data);
  links.receive((from, messages) => {
    for (const message of messages) links.send(from, message);
  });
});

self.postMessage('up');
