/** What is used of packages that have no types here. */

declare module 'ws' {
  const WebSocket: new (url: string) => object;
  export default WebSocket;
}

declare module 'react-native' {
  export const AppState: {
    addEventListener(event: 'change', listener: (state: string) => void): void;
  };
}
