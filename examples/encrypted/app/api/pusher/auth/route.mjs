import { pusher } from '../../../../lib/pusher.mjs';

/** Gives a reader the key of the channel. A real app first asks its session whether this reader may. */
export async function POST(request) {
  const form = new URLSearchParams(await request.text());
  const channel = form.get('channel_name');
  if (channel !== 'private-encrypted-notes') return new Response('Forbidden', { status: 403 });
  return Response.json(pusher.authorizeChannel(form.get('socket_id'), channel));
}
