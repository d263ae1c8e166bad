// Answers with what each common way of Go to read `user_id` reads.
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
)

type form struct {
	UserID any `json:"user_id"`
}

type nested struct {
	User struct {
		Email any `json:"email"`
	} `json:"user"`
}

func again(r *http.Request, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.ContentLength = int64(len(body))
	return out
}

func main() {
	answer := func(w http.ResponseWriter, out map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(out)
	}
	http.HandleFunc("/body", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		out := map[string]any{}
		var whole, first form
		if json.Unmarshal(body, &whole) == nil && whole.UserID != nil {
			out["unmarshal"] = whole.UserID
		}
		if json.NewDecoder(bytes.NewReader(body)).Decode(&first) == nil && first.UserID != nil {
			out["decoder"] = first.UserID
		}
		if value := again(r, body).FormValue("user_id"); value != "" {
			out["FormValue"] = value
		}
		if value := again(r, body).PostFormValue("user_id"); value != "" {
			out["PostFormValue"] = value
		}
		answer(w, out)
	})
	http.HandleFunc("/nested", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		out := map[string]any{}
		var whole nested
		if json.Unmarshal(body, &whole) == nil && whole.User.Email != nil {
			out["unmarshal"] = whole.User.Email
		}
		for _, name := range []string{"user[email]", "user.email"} {
			if value := again(r, body).FormValue(name); value != "" {
				out[name] = value
			}
		}
		answer(w, out)
	})
	http.HandleFunc("/query", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]any{"query": r.URL.Query().Get("user_id"), "FormValue": r.FormValue("user_id")})
	})
	http.HandleFunc("/cookie", func(w http.ResponseWriter, r *http.Request) {
		out := map[string]any{}
		if cookie, err := r.Cookie("user_id"); err == nil {
			out["cookie"] = cookie.Value
		}
		answer(w, out)
	})
	http.HandleFunc("/header", func(w http.ResponseWriter, r *http.Request) {
		out := map[string]any{}
		for _, name := range []string{"X-User-Id", "X_User_Id"} {
			if value := r.Header.Get(name); value != "" {
				out[name] = value
			}
		}
		answer(w, out)
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
