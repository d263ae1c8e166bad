// Answers with what each common way of Express to read `user_id` reads.
const express = require('express');
const bodyParser = require('body-parser');
const cookieParser = require('cookie-parser');
const multer = require('multer');

const app = express();
app.use(cookieParser());

// One parser after the other on the same bytes: each is a way in which some application reads.
const keep = (req, res, next) => {
  const pieces = [];
  req.on('data', (piece) => pieces.push(piece));
  req.on('end', () => { req.bytes = Buffer.concat(pieces); next(); });
};
const { Readable } = require('stream');
const run = (parser, req) => new Promise((resolve) => {
  const again = new Readable({ read() {} });
  again.headers = { ...req.headers, 'content-length': String(req.bytes.length) };
  delete again.headers['transfer-encoding'];
  again.rawHeaders = req.rawHeaders;
  again.method = req.method;
  again.push(req.bytes);
  again.push(null);
  parser(again, {}, (error) => resolve(error ? null : again.body));
});

const ways = {
  json: bodyParser.json(),
  'form extended': bodyParser.urlencoded({ extended: true }),
  'form simple': bodyParser.urlencoded({ extended: false }),
  multer: multer().none(),
  'multer any': multer().any(),
};
app.post('/body', keep, async (req, res) => {
  const out = {};
  for (const [name, parser] of Object.entries(ways)) {
    const body = await run(parser, req);
    if (body && body.user_id !== undefined) out[name] = body.user_id;
  }
  res.json(out);
});
// By the member, and by the name that stands for it (lodash's get() takes a member of that name first).
const nested = (body) => [body && body.user && body.user.email, body && body['user.email'], body && body['user[email]']];
app.post('/nested', keep, async (req, res) => {
  const out = { query: nested(req.query) };
  for (const [name, parser] of Object.entries(ways)) out[name] = nested(await run(parser, req));
  res.json(out);
});
app.post('/query', keep, (req, res) => res.json({ query: req.query.user_id }));
app.post('/cookie', keep, (req, res) => res.json({ cookie: req.cookies.user_id }));
// By its name, by what a script of CGI times may ask for, and from the list of all of them.
app.post('/header', keep, (req, res) => res.json({
  get: req.get('X-User-Id'), underscores: req.headers.x_user_id,
  raw: req.rawHeaders.filter((_, i) => i % 2 === 1 && req.rawHeaders[i - 1].toLowerCase() === 'x-user-id'),
}));
app.listen(Number(process.argv[2]), '127.0.0.1');
