<?php
// Answers with what each common way of PHP to read `user_id` reads. A router for `php -S`.
header('Content-Type: application/json');
$out = [];
switch (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
    case '/body':
        $json = json_decode(file_get_contents('php://input'), true);
        if (is_array($json) && isset($json['user_id'])) $out['json'] = $json['user_id'];
        if (isset($_POST['user_id'])) $out['post'] = $_POST['user_id'];
        if (isset($_REQUEST['user_id'])) $out['request'] = $_REQUEST['user_id'];
        break;
    case '/nested':
        $json = json_decode(file_get_contents('php://input'), true);
        foreach (['json' => $json, 'post' => $_POST, 'request' => $_REQUEST] as $way => $all) {
            if (is_array($all) && isset($all['user']) && is_array($all['user']) && isset($all['user']['email'])) {
                $out[$way] = $all['user']['email'];
            }
        }
        break;
    case '/query':
        if (isset($_GET['user_id'])) $out['get'] = $_GET['user_id'];
        break;
    case '/cookie':
        if (isset($_COOKIE['user_id'])) $out['cookie'] = $_COOKIE['user_id'];
        break;
    case '/header':
        if (isset($_SERVER['HTTP_X_USER_ID'])) $out['server'] = $_SERVER['HTTP_X_USER_ID'];
        foreach (getallheaders() as $name => $value) {
            if (strcasecmp($name, 'X-User-Id') === 0) $out['all'] = $value;
        }
        break;
}
echo json_encode((object) $out, JSON_INVALID_UTF8_SUBSTITUTE);
