import { type MessagePort as NodePort, receiveMessageOnPort } from 'node:worker_threads';

/** Takes the next message of a port, for which there is no event then; `undefined`: there is none. */
export function takePosted(port: MessagePort): { readonly message: unknown } | undefined {
  // The runtime has one class for both.
  return receiveMessageOnPort(port as unknown as NodePort);
}
