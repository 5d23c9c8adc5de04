/** Where a listener is that has a port of its own, as reached from its own machine. */
export function ownAddress(
  { host, port }: { readonly host: string; readonly port: number },
  tls: boolean,
): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const name = reached.includes(':') ? `[${reached}]` : reached;
  return `${tls ? 'https' : 'http'}://${name}:${port}`;
}
